"""
Fills in what torchvision makes of the cases in packages/pixels/operators/*/golden.json: python3 make.py [OPERATOR].

A case has a transform of torchvision's, ours, and the value of all bytes of a grey picture, or none: then each byte of the
picture is another one. What chooses at random is known by its moments.
"""

import json
import sys
from pathlib import Path

import torch
import torchvision
from torchvision.transforms import v2

SIDE = 256
OPERATORS = Path(__file__).parents[3] / "packages/pixels/operators"

for path in sorted(OPERATORS.glob(f"{(sys.argv[1:] or ['*'])[0]}/golden.json")):
    golden = json.loads(path.read_text())
    golden["made"] = f"torch {torch.__version__}, torchvision {torchvision.__version__}"
    torch.manual_seed(0)
    for case in golden["cases"]:
        transform = eval(case["torchvision"], {"v2": v2})
        value = case.get("value")
        picture = (
            torch.arange(3 * 16 * 16, dtype=torch.int32)
            .mul(7)
            .to(torch.uint8)
            .reshape(3, 16, 16)
            if value is None
            else torch.full((3, SIDE, SIDE), value, dtype=torch.uint8)
        )
        out = transform(picture)
        if value is None:
            case["bytes"] = bytes(
                out.permute(1, 2, 0).contiguous().flatten().tolist()
            ).hex()
        else:
            wide = out.double()
            case.update(
                mean=wide.mean().item(),
                deviation=wide.std(unbiased=False).item(),
                count=out.numel(),
            )
    path.write_text(json.dumps(golden, indent=2) + "\n")
