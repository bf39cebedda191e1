def start():
    import spoor_client as spoor

    spoor.configure(spool=False)
    kinds = {"agent": "agent", "step": "llm"}
    return lambda name: spoor.observe(name=name, kind=kinds[name]), lambda: spoor.flush(60)
