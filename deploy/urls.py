"""Where everything is."""

from django.urls import include, path

from deploy import views
from deploy.design import design
from deploy.manifest import manifest

handler400 = "deploy.views.bad_request"
handler403 = "deploy.views.forbidden"
handler404 = "deploy.views.not_found"
handler500 = "deploy.views.server_error"

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("design/", design, name="design"),
    path("manifest.webmanifest", manifest, name="manifest"),
    path("accounts/", include("accounts.urls")),
    path("", include("chat.urls")),
]
