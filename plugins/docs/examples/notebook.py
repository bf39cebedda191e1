# %% [markdown]
# # Try an assistant on some questions
# VS Code and PyCharm open this file as cells; Jupyter needs jupytext.
# SPOOR_URL and SPOOR_API_KEY set where the traces go.

# %%
from uuid import uuid4

import spoor_client as spoor

experiment = f"experiment-{uuid4().hex[:8]}"


# %%
@spoor.observe(kind="llm")
def model(prompt):
    return {"Where is my parcel?": "On its way."}.get(prompt, "I do not know.")


def ask(question):
    with spoor.trace("assistant", session_id=experiment, tags=["notebook"]) as trace:
        trace.set_input(question)
        answer = model(question)
        trace.set_output(answer)
    return trace.id, answer


# %%
questions = ["Where is my parcel?", "Who are you?"]
answers = {question: ask(question) for question in questions}
spoor.flush()

# %% [markdown]
# Verdicts become scores of the traces. If this cell runs again, the newer scores count.

# %%
for trace_id, answer in answers.values():
    spoor.score(trace_id, "knows", answer != "I do not know.", comment=experiment)
spoor.flush()

# %%
for trace in spoor.traces.all(session_id=experiment):
    print(trace["id"], trace["durationMs"], "ms", trace["scores"]["knows"]["value"])

# %%
# What did the last run do, step by step?
[(span["name"], span["output"]) for span in spoor.traces.get(trace["id"])["spans"]]
