"""What other rooms may want to hear of accounts, without accounts knowing them."""

from django.dispatch import Signal

# user_id: str; session_keys: list of the keys that ended, or None for every one of that person
sessions_ended = Signal()
