"""The scripted model, driven by the SDKs of those whose APIs it speaks.

    python3 sdks.py acp-conformance     # the program that serves the model

Ends with 0 when everything is as the SDKs want it, and says each thing that it tried.
"""

import json
import os
import subprocess
import sys

import anthropic
import openai
from google import genai
from google.genai import types

# A character of three bytes, which the model cuts in two when it streams.
TEXT = "It costs 5 €, naïvely."
READ = {"intent": "read-file", "path": "/w/notes.txt"}
SCHEMA = {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}
ARGUMENTS = {"file_path": "/w/notes.txt"}
RESULT = "alpha"
CLOSING = "The result is:\nalpha"


def prompt(intent):
    return "Please.\nacp-intent: " + json.dumps(intent)


SAY = prompt({"intent": "say", "text": TEXT})


def same(what, seen, expected):
    if seen != expected:
        sys.exit(f"{what}: {seen!r} instead of {expected!r}")
    print(f"ok  {what}")


def chat(origin):
    client = openai.OpenAI(base_url=origin + "/v1", api_key="none", max_retries=0)
    same("models", [model.id for model in client.models.list()], ["acp-scripted"])
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]
    create = client.chat.completions.create

    def messages(text):
        return [{"role": "system", "content": "Be good."}, {"role": "user", "content": text}]

    whole = create(model="any", messages=messages(SAY)).choices[0]
    same("chat: text", (whole.message.content, whole.finish_reason), (TEXT, "stop"))
    chunks = list(create(model="any", messages=messages(SAY), stream=True, stream_options={"include_usage": True}))
    same("chat: streamed text", "".join(c.choices[0].delta.content or "" for c in chunks if c.choices), TEXT)
    same("chat: usage at the end", chunks[-1].usage.total_tokens > 0, True)
    whole = create(model="any", messages=messages(prompt(READ)), tools=tools).choices[0]
    call = whole.message.tool_calls[0]
    same("chat: call", (call.function.name, json.loads(call.function.arguments)), ("read_file", ARGUMENTS))
    with client.chat.completions.stream(model="any", messages=messages(prompt(READ)), tools=tools) as stream:
        streamed = stream.get_final_completion().choices[0]
    function = streamed.message.tool_calls[0].function
    same("chat: streamed call", (function.name, json.loads(function.arguments)), ("read_file", ARGUMENTS))
    same("chat: its reason", streamed.finish_reason, "tool_calls")
    conversation = messages(prompt(READ)) + [
        whole.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": RESULT},
    ]
    same("chat: closing", create(model="any", messages=conversation, tools=tools).choices[0].message.content, CLOSING)
    cut = create(model="any", messages=messages(prompt({"intent": "max-tokens"}))).choices[0]
    same("chat: limit", cut.finish_reason, "length")
    try:
        create(model="any", messages=messages(prompt({"intent": "model-error", "status": 429})))
        sys.exit("chat: no error")
    except openai.RateLimitError as error:
        same("chat: error", error.status_code, 429)


def responses(origin):
    client = openai.OpenAI(base_url=origin + "/v1", api_key="none", max_retries=0)
    tools = [{"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": False}]
    create = client.responses.create
    same("responses: text", create(model="any", input=SAY).output_text, TEXT)
    with client.responses.stream(model="any", input=SAY) as stream:
        deltas = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        same("responses: streamed text", (deltas, stream.get_final_response().output_text), (TEXT, TEXT))
    call = create(model="any", input=prompt(READ), tools=tools).output[0]
    same("responses: call", (call.type, call.name, json.loads(call.arguments)), ("function_call", "read_file", ARGUMENTS))
    with client.responses.stream(model="any", input=prompt(READ), tools=tools) as stream:
        streamed = stream.get_final_response().output[0]
    same("responses: streamed call", (streamed.name, json.loads(streamed.arguments)), ("read_file", ARGUMENTS))
    conversation = [
        {"role": "user", "content": prompt(READ)},
        call.model_dump(exclude_none=True),
        {"type": "function_call_output", "call_id": call.call_id, "output": RESULT},
    ]
    same("responses: closing", create(model="any", input=conversation, tools=tools).output_text, CLOSING)
    thought = create(model="any", input=prompt({"intent": "think"})).output[0]
    same("responses: thought", (thought.type, thought.summary[0].text[:3]), ("reasoning", "Two"))


def messages(origin):
    client = anthropic.Anthropic(base_url=origin, api_key="none", max_retries=0)
    same("messages: models", [model.id for model in client.models.list()], ["acp-scripted"])
    tools = [{"name": "Read", "input_schema": SCHEMA}]

    def ask(text):
        return {"model": "any", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]}

    count = client.messages.count_tokens(model="any", messages=ask(SAY)["messages"])
    same("messages: tokens counted", count.input_tokens > 0, True)
    whole = client.messages.create(**ask(SAY))
    same("messages: text", (whole.content[0].text, whole.stop_reason), (TEXT, "end_turn"))
    with client.messages.stream(**ask(SAY)) as stream:
        same("messages: streamed text", "".join(stream.text_stream), TEXT)
    call = client.messages.create(**ask(prompt(READ)), tools=tools).content[0]
    same("messages: call", (call.type, call.name, call.input), ("tool_use", "Read", ARGUMENTS))
    with client.messages.stream(**ask(prompt(READ)), tools=tools) as stream:
        streamed = stream.get_final_message()
    same("messages: streamed call", (streamed.content[0].input, streamed.stop_reason), (ARGUMENTS, "tool_use"))
    conversation = ask(prompt(READ))
    conversation["messages"] += [
        {"role": "assistant", "content": [call.model_dump(exclude_none=True)]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT}]},
    ]
    same("messages: closing", client.messages.create(**conversation, tools=tools).content[0].text, CLOSING)
    refused = client.messages.create(**ask(prompt({"intent": "refuse"})))
    same("messages: refusal", refused.stop_reason, "refusal")
    try:
        client.messages.create(**ask(prompt({"intent": "model-error"})))
        sys.exit("messages: no error")
    except anthropic.BadRequestError as error:
        same("messages: error", error.status_code, 400)


def gemini(origin):
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=origin))
    declaration = types.FunctionDeclaration(name="read_file", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    ask = client.models.generate_content
    same("gemini: text", ask(model="any", contents=SAY).text, TEXT)
    chunks = client.models.generate_content_stream(model="any", contents=SAY)
    same("gemini: streamed text", "".join(chunk.text or "" for chunk in chunks), TEXT)
    same("gemini: tokens counted", client.models.count_tokens(model="any", contents=SAY).total_tokens > 0, True)
    called = ask(model="any", contents=prompt(READ), config=config)
    call = called.function_calls[0]
    same("gemini: call", (call.name, call.args), ("read_file", ARGUMENTS))
    conversation = [
        types.Content(role="user", parts=[types.Part(text=prompt(READ))]),
        called.candidates[0].content,
        types.Content(role="user", parts=[types.Part.from_function_response(name=call.name, response={"output": RESULT})]),
    ]
    same("gemini: closing", ask(model="any", contents=conversation, config=config).text, CLOSING)


def main():
    model = subprocess.Popen([sys.argv[1], "model", "--quiet"], stdout=subprocess.PIPE, text=True)
    try:
        origin = model.stdout.readline().strip()
        # Nothing of a proxy: the model is on this machine.
        os.environ["NO_PROXY"] = "*"
        for api in (chat, responses, messages, gemini):
            api(origin)
    finally:
        model.terminate()
        model.wait(timeout=10)


main()
