"""Cells of a notebook: a trace for each question, a look at it, and a score for what was good."""

# %%
import spoor


# %%
@spoor.observe(kind="agent", name="notebook")
def ask(question):
    return {"answer": question[::-1], "trace": spoor.current().trace.id}


# %%
first = ask("Where is my parcel?")
print(spoor.flush(timeout=10))

# %%
detail = spoor.traces.get(first["trace"])
print(detail["trace"]["durationMs"], "ms")
spoor.score(first["trace"], "useful", 0.5, comment="it is the question, backwards")

# %%
for trace in spoor.traces.all(name="notebook", limit=20):
    print(trace["id"], trace["status"], trace["scores"])
