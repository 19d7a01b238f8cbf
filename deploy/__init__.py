"""The composition root: settings, wiring, and the ways to run the appliance."""
