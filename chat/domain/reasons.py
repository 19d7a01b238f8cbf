"""The sentence of each reason that the engine adapter has a word for, in the reader's language."""

from __future__ import annotations

from typing import Final

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from chat.domain.sizes import size
from engine_adapter.reasons import Reason

Sentence = str | Promise
_NEEDS: Final = _(
    "The model %(model)s needs %(need_bytes)s (%(weights_bytes)s weights, %(states_bytes)s memory"
    " for %(lanes)s × %(context)s tokens, %(buffers_bytes)s to compute, %(kept_bytes)s for prompts"
    " that were read); %(free_bytes)s are free."
)
SENTENCES: Final[dict[str, Sentence]] = {
    # A file that is no model
    "damaged": _("The model file %(file)s is damaged or no model:"),
    "unreadable": _("The model file %(file)s cannot be read (%(system)s)."),
    "not_gguf": _("It is not a GGUF file."),
    "gguf_version": _("It is a GGUF file of version %(version)s; versions 2 and 3 can be read."),
    "no_weights": _("It holds no weights."),
    "no_alignment": _("It does not say sensibly where its weights begin."),
    "cut_in_middle": _("It ends in the middle."),
    "many_tensors": _("It claims to hold %(count)s tensors, which it cannot."),
    "many_entries": _("It claims to hold %(count)s entries about itself, which it cannot."),
    "many_elements": _("It claims to hold a list of %(count)s elements, which it cannot."),
    "bad_key": _("The name of an entry about itself is missing or far too long."),
    "dimensions": _("A tensor claims to have %(count)s dimensions."),
    "cut_short": _(
        "It is cut short: %(announced)s bytes are announced, %(there)s are there. Copy it again."
    ),
    "value_type": _("It uses a kind of value that nobody knows (%(kind)s)."),
    "no_architecture": _("It does not tell its architecture."),
    "beside_clip": _("It is the eyes or ears of a model (clip) and no language model."),
    "beside_imatrix": _("It is an importance matrix (imatrix) and no language model."),
    "other_adapter": _("It is an adapter of another kind than LoRA."),
    "no_context": _("It does not tell how much text it reads at once."),
    "bad_number": _("What it says under “%(key)s” is no sensible number."),
    # A model's own settings
    "not_served": _("The model %(model)s is not served:"),
    "settings_bad": _("%(file)s is wrong."),
    "settings_unreadable": _("%(file)s cannot be read (%(system)s)."),
    "settings_large": _("%(file)s is larger than %(most)s bytes."),
    "settings_no_toml": _("%(file)s is no TOML (%(words)s)."),
    "setting_unknown": _("“%(key)s” is unknown; known are %(known)s."),
    "setting_int": _("“%(key)s” must be a whole number, not %(value)s."),
    "setting_float": _("“%(key)s” must be a number, not %(value)s."),
    "setting_str": _("“%(key)s” must be a text, not %(value)s."),
    "setting_bool": _("“%(key)s” must be true or false, not %(value)s."),
    "setting_range": _("“%(key)s” must lie between %(least)s and %(most)s, not %(value)s."),
    "setting_choice": _("“%(key)s” must be one of %(known)s, not %(value)s."),
    # An adapter and its base
    "no_adapter": _("%(notes)s names a base, but %(file)s is no adapter."),
    "adapter_refused": _("The adapter %(model)s is not served."),
    "base_missing": _("There is no model %(base)s of the architecture %(architecture)s for it."),
    "base_unclear": _(
        "It is not clear which model it is to be laid over (of the architecture %(architecture)s"
        ' there is: %(names)s). Write base = "…" into %(notes)s.'
    ),
    "adapter_misfit": _("The adapter does not fit on %(file)s (%(words)s)."),
    "adapter_mid_prompt": _("An adapter that begins in mid-prompt (aLoRA) cannot be used."),
    "adapter_not_laid": _("The adapter cannot be laid over the model."),
    # Loading
    "no_model": _("There is no model named %(model)s."),
    "writes_only": _("The model %(model)s writes text and makes no embeddings."),
    "embeds_only": _("The model %(model)s makes embeddings and writes no text."),
    "in_use": _("It is in use or being loaded. Unload it when that is over."),
    "pinned": _("It is pinned. Unpin it first."),
    "stopped": _("The engine was stopped."),
    "unloaded": _("The model was unloaded."),
    "made_room": _("The model made room for another."),
    "files_changed": _("The model’s files have changed."),
    "changed": _("The file of the model %(model)s has changed."),
    "not_loadable": _("The model %(model)s cannot be loaded."),
    "llama_refuses": _("llama.cpp refuses it (%(words)s)."),
    "bad_template": _("Its chat template cannot be used (%(words)s)."),
    "no_writer": _("This model does not write text."),
    "ranks_only": _("This model ranks texts and makes no embeddings of them."),
    "computes_nothing": _("The model loads but computes nothing (llama_decode: %(status)s)."),
    "no_context_room": _("There is no room for %(lanes)s × %(context)s tokens (%(words)s)."),
    "died_loading": _("The model %(model)s could not be loaded."),
    "died_often": _(
        "The model %(model)s died %(count)s times within %(minutes)s minutes. It is not tried again"
        " until its file changes or the engine is restarted."
    ),
    "not_started": _("No process could be started for it (%(system)s)."),
    "ended_status": _("Its process ended with status %(status)s."),
    "ended_signal": _("Its process was ended by %(signal)s."),
    "ended_sigill": _(
        "Its process was ended by SIGILL: llama.cpp was built for another processor. Build it again"
        " on this machine."
    ),
    "ended_sigkill": _(
        "Its process was ended by SIGKILL. The machine may have been short of memory."
    ),
    # Memory
    "no_room_now": format_lazy(
        "{} {}", _NEEDS, _("Models that are in use hold the rest: try again in a moment.")
    ),
    "no_room_ever": format_lazy(
        "{} {}",
        _NEEDS,
        _(
            "Of %(total_bytes)s in all it can get no more: give it fewer slots or a shorter"
            " context in %(notes)s."
        ),
    ),
    # An engine elsewhere
    "loads_nothing": _("This engine loads no models when told."),
    "pins_nothing": _("This engine keeps no model in memory when told."),
    "refused_http": _("It refuses what it was asked (%(said)s)."),
    "failed_http": _("It answers that something went wrong in it (%(said)s)."),
    "exit_code": _("Its process ended with status %(status)s."),
    "cut_off": _("The connection broke in the middle of a reply."),
    "broke_before": _("The connection broke before an answer came."),
    "packed": _("Its reply is packed in a way nobody can unpack."),
    "key_sealed": _(
        "Its key was sealed with another secret key of this house. Enter it once more."
    ),
    "pull_broke": _("Its download broke off."),
    "pull_nonsense": _("What it tells about its download makes no sense."),
    # What was entered for it
    "key_characters": _("The key holds characters that cannot be sent. Copy it once more."),
    "url_none": _("This is no address."),
    "url_end": _("The address must end before any “?” or “#”."),
    "url_socket": _("A socket’s address is written unix:///path/to.sock."),
    "url_scheme": _("The address must start with http://, https:// or unix:///."),
    "url_key": _("The key belongs into its own field, not into the address."),
    "ca_file": _("%(file)s is not a readable PEM file of certificates."),
}


def sentence(reason: Reason) -> str:
    """What a page says of it. Names and an engine's own few words stay as they are."""
    facts = {
        name: size(int(fact)) if name.endswith("_bytes") else fact
        for name, fact in reason.facts.items()
    }
    own = str(SENTENCES[reason.code]) % facts
    return own if reason.because is None else f"{own} {sentence(reason.because)}"
