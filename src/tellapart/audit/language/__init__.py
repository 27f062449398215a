"""One-run audits of language models: canary texts, their losses, and the exposure of secrets.

>>> from tellapart.audit import language
>>> canaries = language.secrets("The PIN of box {number} is {secret}.", count=3, bits=13, seed=1)
>>> canaries.texts[0]
'The PIN of box 0 is 1158.'

- `canary_texts`: random tokens, new tokens, secrets and templates;
- `planting`: fair coins, the manifest (JSON lines) and the file of scores;
- `token_losses`: what any causal model of Hugging Face's interface says of texts, in batches;
- `secret_ranks`: the exposure of Carlini et al. (2019), and evidence from it.

Nothing here is loaded from PyTorch or transformers (extra `transformers`) before a model is.
"""

from tellapart.audit.language.canary_texts import from_templates, new_tokens, random_tokens, secrets
from tellapart.audit.language.planting import plant, read_manifest
from tellapart.audit.language.secret_ranks import secret_exposure
from tellapart.audit.language.token_losses import LanguageModel, load, losses

__all__ = [
    "LanguageModel",
    "from_templates",
    "load",
    "losses",
    "new_tokens",
    "plant",
    "random_tokens",
    "read_manifest",
    "secret_exposure",
    "secrets",
]
