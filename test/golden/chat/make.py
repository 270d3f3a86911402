"""Goldens of chats: what transformers renders and tokenises, and which tokens its assistant mask has.

Templates that are not marked otherwise are those that TRL 1.16 ships for comparison with models' own (Apache 2.0). Llama 2, Mistral
v0.3 and Zephyr are as their models have them, SmolLM3's is shortened, and nasty_tags.jinja is of no model: it has every spelling of white space.

    python3 test/golden/chat/make.py
"""

import hashlib
import json
from datetime import datetime as real_datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import transformers.utils.chat_template_utils as utils
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

HERE = Path(__file__).parent
VOCABULARY = HERE / "../../../packages/llm/tokenize/shipped/millrace-4k.json"

NOW = "2024-07-26"

# Names of special tokens of all the templates; those with False are added, but not special.
ADDED = {
    "<|im_start|>": True,
    "<|im_end|>": True,
    "<think>": False,
    "</think>": False,
    "<tool_call>": False,
    "</tool_call>": False,
    "<s>": True,
    "</s>": True,
    "[INST]": True,
    "[/INST]": True,
    "[TOOL_CALLS]": True,
    "[AVAILABLE_TOOLS]": True,
    "[/AVAILABLE_TOOLS]": True,
    "[TOOL_RESULTS]": True,
    "[/TOOL_RESULTS]": True,
    "<|begin_of_text|>": True,
    "<|start_header_id|>": True,
    "<|end_header_id|>": True,
    "<|eot_id|>": True,
    "<|eom_id|>": True,
    "<|python_tag|>": True,
    "<bos>": True,
    "<start_of_turn>": True,
    "<end_of_turn>": True,
    "<|user|>": True,
    "<|assistant|>": True,
    "<|system|>": True,
    "<|end|>": True,
    "<｜User｜>": True,
    "<｜Assistant｜>": True,
    "<｜end▁of▁sentence｜>": True,
    "<|START_OF_TURN_TOKEN|>": True,
    "<|END_OF_TURN_TOKEN|>": True,
    "<|start|>": True,
    "<|message|>": True,
    "<|channel|>": True,
    "<|return|>": True,
}


class Frozen(real_datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromisoformat(NOW)


def tokenizer_with_added():
    """The vocabulary that ships with Millrace, with the special tokens of all the templates."""
    vocabulary = json.loads(VOCABULARY.read_text())
    known = {token["content"] for token in vocabulary["added_tokens"]}
    at = max([*vocabulary["model"]["vocab"].values(), *(token["id"] for token in vocabulary["added_tokens"])]) + 1
    added = []
    for content, special in ADDED.items():
        if content in known:
            continue
        entry = {"id": at, "content": content, "single_word": False, "lstrip": False, "rstrip": False}
        added.append({**entry, "normalized": False, "special": special})
        at += 1
    vocabulary["added_tokens"] += added
    # Offsets as Qwen's tokenizer has them: with its other setting, transformers loses spans that begin with a space.
    vocabulary["post_processor"] = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(vocabulary)), bos_token="<s>", eos_token="</s>"
    )
    return tokenizer, added


def digest(tokens):
    return hashlib.sha1(",".join(map(str, tokens)).encode()).hexdigest()[:12]


def runs(mask):
    """[from, to) of the ones."""
    out = []
    for i, bit in enumerate(mask):
        if bit and out and out[-1][1] == i:
            out[-1][1] = i + 1
        elif bit:
            out.append([i, i + 1])
    return out


def write_tables():
    """Conversations as Hugging Face's datasets have them: lists of structs, in which what a message lacks is null."""
    talks = [
        [{"role": "user", "content": "Größe?"}, {"role": "assistant", "content": "14 px"}],
        [{"role": "system", "content": "s"}, {"role": "user", "content": ""}, {"role": "assistant", "content": "x", "name": "n"}],
    ]
    fields = [pa.field(name, pa.string()) for name in ("role", "content", "name")]
    table = pa.table({"messages": pa.array(talks, pa.list_(pa.struct(fields))), "id": [1, 2]})
    pq.write_table(table, HERE / "talks.parquet")
    with pa.OSFile(str(HERE / "talks.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def main():
    write_tables()
    utils.datetime = Frozen
    tokenizer, added = tokenizer_with_added()
    conversations = [json.loads(line) for line in (HERE / "conversations.jsonl").read_text().splitlines()]
    (HERE / "added.json").write_text(json.dumps(added, ensure_ascii=False, indent=1) + "\n")
    for file in sorted((HERE / "templates").glob("*.jinja")):
        template = file.read_text()
        tagged = "generation %}" in template or "generation -%}" in template
        lines = []
        for one in conversations:
            given = {"tools": one.get("tools"), "chat_template": template, **one.get("kwargs", {})}
            expected = {"name": one["name"]}
            try:
                expected["text"] = tokenizer.apply_chat_template(one["messages"], tokenize=False, **given)
            except Exception as error:
                expected["error"] = str(error)[:80]
                lines.append(expected)
                continue
            out = tokenizer.apply_chat_template(
                one["messages"], return_dict=True, return_assistant_tokens_mask=tagged, **given
            )
            expected["tokens"] = digest(out["input_ids"])
            if tagged:
                expected["mask"] = runs(out["assistant_masks"])
            plain = tokenizer.apply_chat_template(
                one["messages"], return_dict=True, sanitize_control_tokens=True, **given
            )
            if plain["input_ids"] != out["input_ids"]:
                expected["sanitized"] = digest(plain["input_ids"])
            prompt = tokenizer.apply_chat_template(
                one["messages"], tokenize=False, add_generation_prompt=True, **given
            )
            if prompt != expected["text"]:
                expected["prompt"] = prompt[len(expected["text"]) :] if prompt.startswith(expected["text"]) else prompt
            lines.append(expected)
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        (HERE / f"{file.stem}.jsonl").write_text(text + "\n")


main()
