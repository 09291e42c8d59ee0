"""A Llama with random weights and a tokenizer trained on the spot, saved as a folder for `hf:PATH`."""

from collections.abc import Sequence
from pathlib import Path

CORPUS = [
    "Is this a rumor? Answer Yes or No.",
    "The bridge fell, they say, and nobody has seen it fall. Fake or Real?",
    "Posts seen so far, in the order of time: [1] ann: the dam is leaking (+3 min, answering [1])",
]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def build(
    folder: Path,
    *,
    chat_template: str | None = CHAT_TEMPLATE,
    positions: int = 1024,
    seed: int = 0,
    corpus: Sequence[str] = (),
    vocabulary: int = 400,
    **size: int,
) -> Path:
    """Write config, weights (safetensors) and tokenizer; about 0.3 MB.

    Args:
        folder: Where to.
        chat_template: None for a model without one.
        positions: The longest text.
        seed: Of the weights.
        corpus: More texts to train the tokenizer on.
        vocabulary: How many tokens it may have.
        size: What LlamaConfig should have instead of this tiny model's.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<pad>", "<|system|>", "<|user|>", "<|assistant|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, show_progress=False, special_tokens=special, initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator([*CORPUS, *corpus], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=special[3:],
        model_max_length=positions,
    )
    fast.chat_template = chat_template
    tiny = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(
        vocab_size=len(fast),
        num_key_value_heads=2,
        max_position_embeddings=positions,
        bos_token_id=fast.bos_token_id,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
        initializer_range=0.3,  # far enough from uniform that two prompts do not get equal replies
        **{**tiny, **size},
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder, safe_serialization=True)
    fast.save_pretrained(folder)
    return folder
