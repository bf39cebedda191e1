def start():
    from langfuse import get_client, observe

    client = get_client()
    kinds = {"agent": "agent", "step": "generation"}
    return lambda name: observe(name=name, as_type=kinds[name]), client.flush
