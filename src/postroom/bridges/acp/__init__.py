"""Agents that speak the Agent Client Protocol, by the library `acp`, the extra `postroom[acp]`."""
