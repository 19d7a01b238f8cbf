"""Several engines behind one name: who is asked, who rests, and who steps in."""

from engine_adapter.pool.engine import Member, Pool
from engine_adapter.pool.known import Known

__all__ = ["Known", "Member", "Pool"]
