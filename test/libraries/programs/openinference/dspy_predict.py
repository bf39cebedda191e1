"""OpenInference of DSPy: a prediction, whose answer is of the form that DSPy asks for."""

import dspy
from application import FAILING, MODEL, QUESTION, SESSION, TAGS, USER, failing, tracing
from openinference.instrumentation import using_attributes
from openinference.instrumentation.dspy import DSPyInstrumentor

tracer = tracing()
DSPyInstrumentor().instrument()
predict = dspy.Predict('question -> answer')


def ask(model):
    lm = dspy.LM(f'openai/{model}', cache=False, num_retries=0)
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        predict(question=QUESTION)


with using_attributes(session_id=SESSION, user_id=USER, tags=TAGS):
    with tracer.start_as_current_span('answer'):
        ask(MODEL)
    with tracer.start_as_current_span('failing'), failing():
        ask(FAILING)
