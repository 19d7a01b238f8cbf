"""The switches of a page. Each is so at once; here it is only kept for the next page."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_POST

from accounts import looks
from accounts.requests import PageRequest


@require_POST
def switch(request: PageRequest) -> HttpResponse:
    """``what`` is on or off from now on. It concerns this browser only, so nothing is noted."""
    what = request.POST.get("what", "")
    if what not in looks.SWITCHES:
        raise Http404
    response = HttpResponse(status=204)
    looks.switch(response, what, on="on" in request.POST)
    return response
