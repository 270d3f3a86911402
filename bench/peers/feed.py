"""The feed of both Millrace contenders: the same augmentation as recipe.py, in Millrace's words."""


def definition(data):
    return {
        "source": {"tar": str(data.tar / "bench-*.tar")},
        "order": {"shuffle": "global", "seed": 1},
        "fields": {
            "image": {
                "from": "jpg",
                "as": "image",
                "apply": [
                    {"randomResizedCrop": {"size": 224}},
                    {"flip": {"p": 0.5}},
                    {"normalize": "imagenet"},
                ],
                "dtype": "f32",
                "layout": "chw",
            },
            "label": {"from": "cls", "as": "int"},
        },
        "batch": {"size": 256},
    }
