"""The one settings page, read from top to bottom. Variables are documented in deploy/VARIABLES.md.

The default is the production one: what is looser is asked for by name.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONCE, NONE, SELF
from django.utils.translation import gettext_lazy as _

from deploy import env

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.path("KONAK_DATA", BASE_DIR / "var")

# Where people reach the house

DEBUG = env.boolean("KONAK_DEBUG")
SECRET_KEY = env.text("KONAK_SECRET_KEY")
PUBLIC_URL = env.url("KONAK_PUBLIC_URL", "http://127.0.0.1:8000", schemes=("http", "https"))
_public = urlsplit(PUBLIC_URL)
HTTPS = _public.scheme == "https"
_extra_hosts = [h.strip() for h in env.text("KONAK_ALLOWED_HOSTS", "").split(",") if h.strip()]
_loopback = ["127.0.0.1", "localhost", "[::1]"] if not HTTPS else []
ALLOWED_HOSTS = [_public.hostname or "127.0.0.1", *_loopback, *_extra_hosts]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if HTTPS else []
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS

# The rooms

INSTALLED_APPS = [
    "deploy.apps.DeployConfig",
    "accounts.apps.AccountsConfig",
    "chat.apps.ChatConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "template_partials",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "deploy.middleware.PrivatePages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "accounts.middleware.SignInRequired",
]

ROOT_URLCONF = "deploy.urls"
ASGI_APPLICATION = "deploy.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "deploy" / "site" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "csp.context_processors.nonce",
            ],
        },
    },
]

FORM_RENDERER = "deploy.fields.Renderer"

# What must survive, and what need not

DATABASES = {
    "default": {
        **env.database("KONAK_DATABASE_URL"),
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
}
DATABASES["default"]["OPTIONS"] = {
    **DATABASES["default"]["OPTIONS"],  # type: ignore[dict-item]  # an entry is a dict of options
    # A pool a process: its checked connections replace those a restarted server has dropped.
    "pool": {
        "min_size": 1,
        "max_size": env.integer("KONAK_DATABASE_POOL", 8, at_least=2),
        "timeout": 5,
    },
    # What is asked again and again is planned once a connection.
    "server_side_binding": True,
    "prepare_threshold": 3,
    "connect_timeout": 5,
    "application_name": "konak",
}

VALKEY_URL = env.url("KONAK_VALKEY_URL", schemes=("redis", "rediss", "unix"))
CHANNEL_LAYERS = {
    "default": {
        # Publish and subscribe fits a doorbell: nothing is stored, a member who left costs nothing.
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [VALKEY_URL], "prefix": "konak"},
    }
}

CELERY_BROKER_URL = (
    f"redis+socket://{urlsplit(VALKEY_URL).path}" if VALKEY_URL.startswith("unix:") else VALKEY_URL
)
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULE = {
    "reaper": {
        "task": "chat.tasks.reap",
        "schedule": 5.0,
        "options": {"expires": 5.0},  # after a hold-up one look is enough
    },
    "titles": {"task": "chat.tasks.title_conversations", "schedule": 10.0},
    "arrivals": {
        "task": "chat.tasks.bring_models",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "left-overs": {"task": "chat.tasks.sweep_arrivals", "schedule": 3600.0},
    "gauges": {
        "task": "chat.tasks.note_gauges",
        "schedule": 20.0,
        "options": {"expires": 20.0},
    },
    "sessions": {"task": "accounts.tasks.clear_expired", "schedule": 3600.0},
}

# People

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.backend.People"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "chat:new"
SETUP_LINK_HOURS = env.integer("KONAK_SETUP_LINK_HOURS", 72, at_least=1)

SESSION_ENGINE = "accounts.sessions"
SESSION_COOKIE_AGE = 24 * 3600
SESSION_LIMITS_S = {
    "person": (3600, 24 * 3600),
    "administrator": (1800, 12 * 3600),
}  # idle, absolute
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = HTTPS
CSRF_FAILURE_VIEW = "deploy.views.csrf_failure"

# Mail, only where it is set up

EMAIL_HOST = env.text("KONAK_EMAIL_HOST", "")
EMAIL_PORT = env.integer("KONAK_EMAIL_PORT", 587, at_least=1)
EMAIL_HOST_USER = env.text("KONAK_EMAIL_USER", "")
EMAIL_HOST_PASSWORD = env.text("KONAK_EMAIL_PASSWORD", "")
EMAIL_USE_TLS = env.boolean("KONAK_EMAIL_TLS", True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("KONAK_EMAIL_FROM", f"konak@{_public.hostname}")

# The engine and the answers

ENGINE_URL = env.url("KONAK_ENGINE_URL", schemes=("http", "https", "unix"))
# Where the engine host finds its models; empty where that is on another machine.
MODELS_DIR = env.text("KONAK_MODELS", "")
OUTGOING = env.boolean("KONAK_OUTGOING")
OUTGOING_PRIVATE = env.boolean("KONAK_OUTGOING_PRIVATE")
OUTGOING_CA = env.text("KONAK_OUTGOING_CA", "")
OUTGOING_PROXY = env.proxy("KONAK_OUTGOING_PROXY")
HUB_URL = env.text("KONAK_HUB_URL", "").rstrip("/")
HUB_TOKEN = env.token("KONAK_HUB_TOKEN")
SIGN_OF_LIFE = env.text("KONAK_SIGN_OF_LIFE", "")
WEB_PROCESSES = env.integer("KONAK_WEB_PROCESSES", 1, at_least=1)
RUNNER_ANSWERS = env.integer("KONAK_RUNNER_ANSWERS", 128, at_least=1)
MESSAGE_MAX_CHARS = env.integer("KONAK_MESSAGE_MAX_CHARS", 60_000, at_least=100)
IMPORT_MAX_MIB = env.integer("KONAK_IMPORT_MAX_MIB", 64, at_least=1)
ANSWER_MAX_TOKENS = env.integer("KONAK_ANSWER_MAX_TOKENS", 2048, at_least=16)
ANSWER_MAX_SECONDS = env.integer("KONAK_ANSWER_MAX_SECONDS", 900, at_least=10)
ENGINE_FIRST_TOKEN_S = env.integer("KONAK_ENGINE_FIRST_TOKEN_S", 300, at_least=5)
ENGINE_NEXT_TOKEN_S = env.integer("KONAK_ENGINE_NEXT_TOKEN_S", 60, at_least=5)
# A body is at most the message in four-byte characters, percent-encoded, and a few fields.
DATA_UPLOAD_MAX_MEMORY_SIZE = MESSAGE_MAX_CHARS * 12 + 65_536
# Files are counted apart; a file a little too large still gets its answer in the form.
BODY_MAX_BYTES = DATA_UPLOAD_MAX_MEMORY_SIZE + (IMPORT_MAX_MIB + 1) * 1024 * 1024

# Languages

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("tr", _("Turkish"))]
LOCALE_PATHS = [BASE_DIR / "deploy" / "locale"]
FORMAT_MODULE_PATH = ["deploy.formats"]
USE_TZ = True
TIME_ZONE = env.text("KONAK_TIME_ZONE", "Europe/Istanbul")

# Files served by the house itself

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "deploy" / "site" / "static"]
STORAGES = {
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# What a page may do

SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    },
}

# Logs carry ids and steps, never what people wrote

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {name: {"level": "INFO"} for name in ("chat", "accounts", "deploy")},
}
