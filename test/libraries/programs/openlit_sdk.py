"""OpenLIT: its instrumentation of OpenAI's client. The prices that it would fetch are in a file here."""

import json
import os
import tempfile

import openlit
from application import SESSION, USER, chat_with_tool, fail
from openai import OpenAI

prices = os.path.join(tempfile.mkdtemp(), 'prices.json')
with open(prices, 'w') as file:
    json.dump({'chat': {'gpt-4o-mini': {'promptPrice': 0.00015, 'completionPrice': 0.0006}}}, file)
openlit.init(application_name='shop', environment='test', pricing_json=prices)
client = OpenAI(max_retries=0)
with openlit.start_trace('answer') as trace:
    trace.set_metadata({'session.id': SESSION, 'user.id': USER})
    chat_with_tool(client)
with openlit.start_trace('failing'):
    fail(client)
