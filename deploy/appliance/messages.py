"""What the person at the console reads, in English and Turkish, side by side.

Django's gettext is not loaded here (at the first start it is not even installed).
"""

from __future__ import annotations

import os
import sys

TEXTS: dict[str, tuple[str, str]] = {
    # Options
    "help": (
        "Start Konak on this machine: database, engine, web page and workers together.",
        "Konak'ı bu makinede başlatır: veri tabanı, motor, web sayfası ve arka plan işleri "
        "birlikte.",
    ),
    "help_host": (
        "address to listen on (default: {value})",
        "dinlenecek adres (varsayılan: {value})",
    ),
    "help_port": (
        "port to listen on (default: {value})",
        "dinlenecek bağlantı noktası (varsayılan: {value})",
    ),
    "help_data": (
        "directory for everything that must survive (default: {value})",
        "kalıcı olan her şeyin dizini (varsayılan: {value})",
    ),
    "help_help": ("show this and end", "bunu gösterip biter"),
    "not_understood": (
        "deploy/up does not understand “{words}”; --help lists its options.",
        "deploy/up “{words}” ifadesini anlamıyor; seçenekleri --help listeler.",
    ),
    # Installing
    "installing": (
        "Installing the locked packages into .venv. One of them, llama-cpp-python, is compiled "
        "for this machine: that takes 6 to 10 minutes the first time.",
        "Sürümü kilitli paketler .venv içine kuruluyor. Biri, llama-cpp-python, bu makine için "
        "derlenir: ilk seferde 6-10 dakika sürer.",
    ),
    "building_cuda": (
        "nvcc is here: llama-cpp-python is built for this machine's NVIDIA cards, which takes "
        "20 minutes or more; CMAKE_ARGS asks for something else.",
        "nvcc bulundu: llama-cpp-python bu makinenin NVIDIA kartları için derleniyor, bu 20 dakika "
        "ya da daha uzun sürer; başka bir derleme CMAKE_ARGS ile istenir.",
    ),
    "building_without_card": (
        "nvcc is here, but no NVIDIA card: llama-cpp-python is built for the processor; "
        "CMAKE_ARGS=-DGGML_CUDA=on asks for cards all the same.",
        "nvcc var ama NVIDIA kartı yok: llama-cpp-python işlemci için derleniyor; yine de kart "
        "için derlemek CMAKE_ARGS=-DGGML_CUDA=on ile istenir.",
    ),
    "building_without_tiles": (
        "This machine announces AMX instructions and dies of them: llama-cpp-python is built "
        "without.",
        "Bu makine AMX komutlarını bildiriyor ama çalıştıramıyor: llama-cpp-python onlarsız "
        "derleniyor.",
    ),
    "installing_step": ("  building {what}", "  derleniyor: {what}"),
    "installing_beat": ("  still working on {what} ({time})", "  sürüyor: {what} ({time})"),
    "installing_copy": ("the packages' files", "paketlerin dosyaları"),
    "installed": ("The packages are installed.", "Paketler kuruldu."),
    "no_compiler": (
        "Konak needs a C++ compiler to build llama-cpp-python, and none works here; on Debian or "
        "Ubuntu: apt install build-essential.",
        "Konak'ın llama-cpp-python'ı derlemek için bir C++ derleyicisine ihtiyacı var, burada "
        "çalışan yok; Debian ya da Ubuntu'da: apt install build-essential.",
    ),
    "no_venv": (
        "This Python cannot make virtual environments with pip; on Debian or Ubuntu: "
        "apt install python3-venv.",
        "Bu Python, pip'li sanal ortam kuramıyor; Debian ya da Ubuntu'da: "
        "apt install python3-venv.",
    ),
    "install_failed": (
        "The packages could not be installed ({reason}); nothing half-made was kept, start again "
        "when that is mended.",
        "Paketler kurulamadı ({reason}); yarım kalan bir şey bırakılmadı, sorun giderilince "
        "yeniden başlatın.",
    ),
    "interrupted": (
        "Interrupted; nothing half-made was kept.",
        "Durduruldu; yarım kalan bir şey bırakılmadı.",
    ),
    # Refusals
    "disk_full": (
        "Not enough free disk space for {path}: {free} free, {need} needed; nothing half-made was "
        "kept.",
        "{path} için yeterli boş disk alanı yok: {free} boş, {need} gerekli; yarım kalan bir şey "
        "bırakılmadı.",
    ),
    "disk_filled": (
        "The disk became full while writing {path}; nothing half-made was kept, make room and "
        "start again.",
        "{path} yazılırken disk doldu; yarım kalan bir şey bırakılmadı, yer açıp yeniden başlatın.",
    ),
    "cannot_write": (
        "Konak cannot write to {path} ({reason}).",
        "Konak {path} yoluna yazamıyor ({reason}).",
    ),
    "not_a_number": (
        "{name} must be a number from {least} to {most}, not {value}.",
        "{name}, {least} ile {most} arasında bir sayı olmalı, {value} değil.",
    ),
    "not_a_choice": (
        "{name} must be one of {choices}, not {value}.",
        "{name} şunlardan biri olmalı: {choices}; {value} değil.",
    ),
    "port_taken": (
        "Port {port} on {host} is taken by another program; choose another with --port.",
        "{host} üzerindeki {port} numaralı bağlantı noktasını başka bir program kullanıyor; --port "
        "ile başka birini seçin.",
    ),
    "port_forbidden": (
        "This user may not listen on port {port}; choose one above 1023 with --port.",
        "Bu kullanıcı {port} numaralı bağlantı noktasını dinleyemez; --port ile 1023'ten büyük bir "
        "numara seçin.",
    ),
    "host_unknown": (
        "{host} is not an address of this machine; choose another with --host.",
        "{host} bu makinenin bir adresi değil; --host ile başka bir adres seçin.",
    ),
    "already_running": (
        "Konak already runs on {path} (process {pid}); stop it first or choose another --data.",
        "Konak {path} üzerinde zaten çalışıyor (süreç {pid}); önce onu durdurun ya da başka bir "
        "--data seçin.",
    ),
    "no_postgres_user": (
        "PostgreSQL does not run as root, and a user for it could not be made ({reason}); start "
        "Konak as an ordinary user instead.",
        "PostgreSQL root olarak çalışmaz ve onun için bir kullanıcı açılamadı ({reason}); Konak'ı "
        "sıradan bir kullanıcıyla başlatın.",
    ),
    "postgres_unreachable": (
        "The user {user} cannot run PostgreSQL from {path}; move the checkout to a place that "
        "others may read, or start Konak as an ordinary user.",
        "{user} kullanıcısı {path} altındaki PostgreSQL'i çalıştıramıyor; kurulumu başkalarının "
        "okuyabildiği bir yere taşıyın ya da Konak'ı sıradan bir kullanıcıyla başlatın.",
    ),
    "cluster_failed": (
        "The database could not be made ({reason}); nothing half-made was kept.",
        "Veri tabanı oluşturulamadı ({reason}); yarım kalan bir şey bırakılmadı.",
    ),
    "not_ready": (
        "{name} did not become ready; its log is {log}.",
        "{name} hazır olmadı; günlüğü: {log}.",
    ),
    "prepare_failed": (
        "The database could not be brought up to date ({reason}); the whole log is {log}.",
        "Veri tabanı güncellenemedi ({reason}); günlüğün tamamı: {log}.",
    ),
    "model_missing": (
        "KONAK_STARTER_MODEL: {path} cannot be read ({reason}).",
        "KONAK_STARTER_MODEL: {path} okunamıyor ({reason}).",
    ),
    "model_not_gguf": (
        "KONAK_STARTER_MODEL: {path} is not a GGUF model file.",
        "KONAK_STARTER_MODEL: {path} bir GGUF model dosyası değil.",
    ),
    "model_not_fetched": (
        "The starter model could not be fetched ({reason}); set KONAK_STARTER_MODEL to a GGUF file "
        "that is already here.",
        "Başlangıç modeli indirilemedi ({reason}); KONAK_STARTER_MODEL ile burada bulunan bir GGUF "
        "dosyasını gösterin.",
    ),
    "model_damaged": (
        "The starter model that arrived is not the expected file (SHA-256 differs); it was thrown "
        "away.",
        "İndirilen başlangıç modeli beklenen dosya değil (SHA-256 farklı); silindi.",
    ),
    # Starting, running, stopping
    "starting": ("Konak is starting; its data is in {path}.", "Konak başlıyor; verileri: {path}."),
    "making_cluster": (
        "Making the database (first start).",
        "Veri tabanı oluşturuluyor (ilk başlatma).",
    ),
    "fetching_model": (
        "Fetching the starter model SmolLM2-135M-Instruct (98 MB).",
        "Başlangıç modeli SmolLM2-135M-Instruct indiriliyor (98 MB).",
    ),
    "opened_path": (
        "PostgreSQL runs as the user {user}; other users may now pass through {path}.",
        "PostgreSQL {user} kullanıcısıyla çalışıyor; başka kullanıcılar artık {path} içinden "
        "geçebilir.",
    ),
    "tls": (
        "Konak can be reached from other machines without encryption: put a proxy with TLS in "
        "front.",
        "Konak'a başka makinelerden şifresiz ulaşılabiliyor: önüne TLS'li bir vekil sunucu koyun.",
    ),
    "ready": ("Konak is ready: {url}", "Konak hazır: {url}"),
    "first_administrator": (
        "Create the first administrator here (the link works once): {url}",
        "İlk yöneticiyi burada oluşturun (bağlantı bir kez çalışır): {url}",
    ),
    "how_to_stop": ("Stop it with Ctrl-C.", "Ctrl-C ile durdurun."),
    "keeps_dying": (
        "{name} ended {count} times in a row; it is started again, with pauses of up to 30 s. Its "
        "log is {log}.",
        "{name} art arda {count} kez sonlandı; en çok 30 saniyelik aralarla yeniden başlatılıyor. "
        "Günlüğü: {log}.",
    ),
    "hangs": (
        "{name} has given no sign of life for a while; it is ended and started again.",
        "{name} bir süredir yaşam belirtisi vermiyor; sonlandırılıp yeniden başlatılıyor.",
    ),
    "runs_again": ("{name} runs again.", "{name} yeniden çalışıyor."),
    "stopping": ("Konak is stopping.", "Konak duruyor."),
    "stopped": ("Konak has stopped.", "Konak durdu."),
}


class Refusal(Exception):
    """A reason not to start, as one sentence for the person at the console."""

    def __init__(self, key: str, **fields: object) -> None:
        super().__init__(text(key, **fields))


def text(key: str, **fields: object) -> str:
    """The sentence ``key`` in the language of the console's locale."""
    locale = next((v for n in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(n))), "")
    return TEXTS[key][locale.startswith("tr")].format(**fields)


def say(key: str, **fields: object) -> None:
    """One line for the person at the console."""
    _write(sys.stdout, text(key, **fields))


def complain(refusal: Refusal) -> None:
    """The sentence of a refusal, on standard error."""
    _write(sys.stderr, str(refusal))


def size(count: int) -> str:
    """A number of bytes for people, in MB."""
    return f"{count / 1e6:,.0f} MB"


def _write(stream, line: str) -> None:  # type: ignore[no-untyped-def]  # sys.stdout is replaceable
    encoding = stream.encoding or "utf-8"
    stream.write(line.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()
