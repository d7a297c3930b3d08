"""make FOLDER N: photo-like JPEG files of 500 x 375 in four classes. time FOLDER: milliseconds of processor time an
image through torchvision on one thread, for each of several ways to write the recipe. Prints JSON."""
import json
import pathlib
import sys
import time

import numpy as np
import torch


def photo(rng, height=375, width=500):
    """Smooth colours, edges, and detail that falls off with its frequency, as photographs have it."""
    from PIL import Image

    image = np.zeros((height, width, 3))
    for cells, strength in ((3, 70), (8, 40), (25, 22), (80, 12), (200, 6)):
        small = rng.normal(0, strength, (cells, cells, 3)).clip(-127, 127) + 128
        large = Image.fromarray(small.astype(np.uint8)).resize((width, height), Image.Resampling.BICUBIC)
        image += np.asarray(large, dtype=np.float64) - 128
    y, x = np.mgrid[0:height, 0:width]
    for _ in range(12):
        a, b = rng.uniform(-1, 1, 2)
        image += ((a * x + b * y + rng.uniform(-300, 300)) > 0)[..., None] * rng.normal(0, 18, 3)
    image += rng.normal(0, 6, image.shape)
    return Image.fromarray((image + 128).clip(0, 255).astype(np.uint8))


def make(folder, count):
    rng = np.random.default_rng(1)
    total = 0
    for i in range(count):
        target = pathlib.Path(folder) / f"class{i % 4}" / f"{i:05}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        photo(rng).save(target, quality=92)
        total += target.stat().st_size
    return {"image_kb": round(total / count / 1024, 1)}


def time_recipes(folder):
    import torchvision
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    files = sorted(str(path) for path in pathlib.Path(folder).rglob("*.jpg"))
    crop = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
    whole = v2.Compose(crop + [v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])
    bytes_only = v2.Compose(crop)
    numbers = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std, inplace=True)])

    def read(path):
        return decode_jpeg(read_file(path), mode=ImageReadMode.RGB)

    recipes = {
        "each image": lambda batch: torch.stack([whole(read(path)) for path in batch]),
        "numbers by batch": lambda batch: numbers(torch.stack([bytes_only(read(path)) for path in batch])),
    }
    times = {}
    for name, recipe in recipes.items():
        best = float("inf")
        for epoch in range(4):
            start = time.process_time()
            for first in range(0, len(files), 32):
                recipe(files[first : first + 32])
            took = (time.process_time() - start) / len(files) * 1e3
            if epoch > 0:
                best = min(best, took)
        times[name] = best
    return {"recipes": times, "versions": {"torch": torch.__version__, "torchvision": torchvision.__version__}}


if __name__ == "__main__":
    command, folder = sys.argv[1:3]
    print(json.dumps(make(folder, int(sys.argv[3])) if command == "make" else time_recipes(folder)))
