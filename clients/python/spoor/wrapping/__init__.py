"""Calls of providers' own libraries, recorded as steps. The libraries themselves are not imported here."""
