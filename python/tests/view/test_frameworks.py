"""A feed as the loader of Lightning, Hugging Face's Trainer and Accelerate, where they are installed.

They take seconds to import: MILLRACE_SLOW=1 asks for it.
"""

from __future__ import annotations

import os

import pytest

import millrace

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.skipif(not os.environ.get("MILLRACE_SLOW"), reason="slow: asked for by MILLRACE_SLOW=1"),
]

FEED = {
    "source": {"synthetic": {"count": 64, "images": {"width": 24, "height": 20, "classes": 4}}},
    "order": {"shuffle": "global", "seed": 3},
    "fields": {
        "image": {"from": "jpg", "as": "image", "apply": [{"resize": [8, 8]}], "dtype": "f32"},
        "label": {"from": "cls", "as": "int"},
    },
    "batch": {"size": 8, "last": "drop"},
}


def loss_of(torch, linear, image, label):
    return torch.nn.functional.cross_entropy(linear(image.flatten(1) / 255), label.long())


def test_lightning_trains_and_keeps_the_state(tmp_path):
    torch = pytest.importorskip("torch")
    lightning = pytest.importorskip("pytorch_lightning")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(192, 4)
            self.steps = 0

        def training_step(self, batch, _):
            self.steps += 1
            return loss_of(torch, self.linear, **batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    with millrace.Feed(FEED, workers=1) as feed:
        model = Model()
        quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
        trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", enable_checkpointing=False, **quiet)
        trainer.fit(model, feed.torch())
        assert model.steps == 16
        trainer.save_checkpoint(tmp_path / "model.ckpt")
        saved = torch.load(tmp_path / "model.ckpt", weights_only=False)
        loops = saved["loops"]["fit_loop"]["state_dict"]["combined_loader"]
        assert loops == [feed.state_dict()]


def test_hugging_face_trains(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    accelerate = pytest.importorskip("accelerate")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(192, 4)

        def forward(self, image, label):
            return {"loss": loss_of(torch, self.linear, image, label)}

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self):
            return self.train_dataset

    with millrace.Feed(FEED, workers=1) as feed:
        quiet = dict(report_to=[], disable_tqdm=True, save_strategy="no", logging_strategy="no")
        options = transformers.TrainingArguments(str(tmp_path), num_train_epochs=3, use_cpu=True, **quiet)
        result = Trainer(model=Model(), args=options, train_dataset=feed.torch()).train()
        assert result.global_step == 24
        assert feed.state_dict()["epoch"] == 3
        assert len(list(accelerate.Accelerator(cpu=True).prepare(feed.torch()))) == 8
