"""Tiny language models: made from a configuration, a tokenizer of words, trained in a second."""

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.func import functional_call, grad, vmap
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

WORDS = [f"w{k}" for k in range(48)] + list("0123456789")


def tokenizer(ends=False):
    """Words apart by spaces; with ``ends`` every text stands between two marks."""
    known = {word: k for k, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(known, unk_token="<unk>"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if ends:
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",  # noqa: S106
        bos_token="<s>",  # noqa: S106
        eos_token="</s>",  # noqa: S106
        unk_token="<unk>",  # noqa: S106
    )


def gpt2(words, seed=0):
    torch.manual_seed(seed)
    sizes = {"n_positions": 16, "n_embd": 32, "n_layer": 1, "n_head": 2}
    no_dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = GPT2Config(
        vocab_size=words, bos_token_id=1, eos_token_id=2, attn_implementation="eager",
        **sizes, **no_dropout,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def llama(words, seed=0):
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=words, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=16, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def ids(words, texts):
    """Token ids of texts that are all of one length."""
    return torch.tensor(words(list(texts))["input_ids"])


def text_losses(logits, tokens):
    each = logits[..., :-1, :].log_softmax(-1).gather(-1, tokens[..., 1:, None])
    return -each[..., 0].mean(-1)


def train(model, tokens, steps=60):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        text_losses(model(input_ids=tokens).logits, tokens).mean().backward()
        optimizer.step()


def train_privately(model, tokens, noise, steps=60, clip=0.5, rate=0.5, seed=0):
    """DP-SGD on all texts at every step: gradients of each text clipped, summed, noised."""
    draw = torch.Generator().manual_seed(seed)
    weights = {name: each.detach() for name, each in model.named_parameters()}

    def loss(weights, text):
        asked = {"input_ids": text[None], "use_cache": False}
        return text_losses(functional_call(model, weights, (), asked).logits[0], text)

    for _ in range(steps):
        each = vmap(grad(loss), (None, 0))(weights, tokens)
        norms = torch.sqrt(sum(part.flatten(1).square().sum(1) for part in each.values()))
        scale = torch.clamp(clip / norms, max=1.0)
        for name, part in each.items():
            total = torch.tensordot(scale, part, 1)
            total += noise * clip * torch.randn(total.shape, generator=draw)
            weights[name] = weights[name] - rate * total / len(tokens)
    model.load_state_dict(weights, strict=False)


def sentences(count, seed=0):
    """Made text of seven words: each word is the one before it, some steps on."""
    rng = np.random.default_rng(seed)
    starts, strides = rng.integers(48, size=count), rng.integers(1, 3, size=count)
    return [
        " ".join(f"w{(start + stride * k) % 48}" for k in range(7))
        for start, stride in zip(starts, strides, strict=True)
    ]
