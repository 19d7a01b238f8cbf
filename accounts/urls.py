"""Addresses of the accounts room."""

from django.urls import path

from accounts.views import entrance, me, people

app_name = "accounts"

urlpatterns = [
    path("sign-in/", entrance.sign_in, name="sign_in"),
    path("sign-out/", entrance.sign_out, name="sign_out"),
    path("welcome/<str:token>/", entrance.welcome, name="welcome"),
    path("language/", entrance.set_language, name="set_language"),
    path("me/", me.profile, name="profile"),
    path("me/password/", me.password, name="password"),
    path("me/sessions/", me.sessions, name="sessions"),
    path("me/data/", me.data, name="data"),
    path("me/deletion/", me.request_deletion, name="request_deletion"),
    path("me/deletion/withdraw/", me.withdraw_deletion, name="withdraw_deletion"),
    path("people/", people.people, name="people"),
    path("people/add/", people.add_person, name="add_person"),
    path("people/<uuid:person_id>/", people.person, name="person"),
    path("people/<uuid:person_id>/link/", people.make_link, name="make_link"),
    path("people/<uuid:person_id>/deactivate/", people.deactivate, name="deactivate"),
    path("people/<uuid:person_id>/activate/", people.activate, name="activate"),
    path("groups/", people.groups, name="groups"),
    path("groups/<uuid:group_id>/", people.group, name="group"),
    path("groups/<uuid:group_id>/rule/", people.group_rule, name="group_rule"),
    path("groups/<uuid:group_id>/delete/", people.delete_group, name="delete_group"),
]
