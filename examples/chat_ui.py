"""Hearsay's chat in a browser: Gradio before a running server (`make serve`); docs/chat.md tells how to start it."""

import os
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
import gradio as gr
from langgraph_sdk import get_client

URL = os.environ.get("HEARSAY_URL", "http://127.0.0.1:2024")
client = get_client(url=URL)


async def send(box, said, thread, ask):
    """Send a message with its files; the chat knows an answer to what it asked a person."""
    text = "\n".join([box["text"], *(Path(file).read_text("utf-8", errors="replace") for file in box["files"])])
    # in a code block, where markdown and HTML of a pasted post do nothing
    said = [*said, {"role": "user", "content": "```text\n" + text.replace("`", "'") + "\n```"}]
    yield None, said, thread
    try:
        thread = thread or (await client.threads.create())["thread_id"]
        given = {"messages": [{"role": "user", "content": text}]}
        found = await client.runs.wait(thread, "chat", context={"ask_human": ask}, input=given)
        answer = found["messages"][-1]["content"]
        for each in found.get("__interrupt__", []):
            answer = f"{each['value']['machine']}\n\n**{each['value']['question']}**"
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".replace("`", "'").split())[:500]
        answer = f"That failed: `{why}`. If no server answers at {URL}: is `make serve` running?"
    yield None, [*said, {"role": "assistant", "content": answer}], thread


with gr.Blocks(title="Hearsay", fill_height=True) as page:
    said = gr.Chatbot(show_label=False, buttons=[], latex_delimiters=[], scale=1, placeholder="Paste a claim")
    box = gr.MultimodalTextbox(show_label=False, placeholder="A claim, a thread, the next post, or: why?")
    thread, ask = gr.State(""), gr.Checkbox(label="Ask me where it is not sure")
    box.submit(send, [box, said, thread, ask], [box, said, thread])
    said.clear(lambda: "", None, thread)
if __name__ == "__main__":
    page.launch(server_name="127.0.0.1", server_port=int(os.environ.get("PORT", "7860")), footer_links=[])
