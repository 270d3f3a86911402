/** The feed of the scenes: its definition, its fields, and rows of it as pictures. */
import sharp from 'sharp'
import type { Gallery, Hello } from '../../../dashboard/view.js'

export const FEED = 'imagenet.feed.json'

export const definition = {
  source: { tar: 'shards/train-{0000..1023}.tar' },
  order: { shuffle: 'global', seed: 7 },
  fields: {
    image: {
      from: 'jpg',
      as: 'image',
      apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
      dtype: 'f32',
      layout: 'chw',
    },
    label: { from: 'cls', as: 'int' },
  },
  batch: { size: 256, last: 'drop' },
  onError: { policy: 'drop', budget: 100 },
}

export const FIELDS: Hello['fields'] = [
  { name: 'image', dtype: 'f32', shape: [256, 3, 224, 224], kind: 'image' },
  { name: 'label', dtype: 'i64', shape: [256], kind: 'int' },
]

const SHAPES = [
  '<circle cx="48" cy="50" r="27"/>',
  '<rect x="20" y="24" width="54" height="50" rx="4"/>',
  '<path d="M48 16 80 76 16 76Z"/>',
  '<path d="M48 14 58 38 84 40 64 56 71 82 48 68 25 82 32 56 12 40 38 38Z"/>',
]
const NAMES = ['circle', 'square', 'triangle', 'star']

/** Pictures of shapes, turned and coloured as augmentation would. */
async function picture(n: number): Promise<string> {
  const ground = `hsl(${(n * 47) % 360} 32% ${62 + (n % 3) * 9}%)`
  const shape = `hsl(${(n * 83 + 140) % 360} 48% ${30 + (n % 4) * 6}%)`
  const turned = `rotate(${((n * 29) % 60) - 30} 48 48) scale(${1 + (n % 3) * 0.08})`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="96" height="96"><rect width="96" height="96" fill="${ground}"/><g fill="${shape}" transform="${turned}">${SHAPES[n % 4]}</g></svg>`
  const png = await sharp(Buffer.from(svg)).png({ palette: true }).toBuffer()
  return `data:image/png;base64,${png.toString('base64')}`
}

export async function gallery(rows = 16): Promise<Gallery> {
  const pictures = await Promise.all(Array.from({ length: rows }, (_, n) => picture(n)))
  return {
    batch: 48_218,
    epoch: 9,
    step: 3174,
    reason: null,
    rows: pictures.map((image, n) => ({
      id: `train-${String((n * 61) % 1024).padStart(4, '0')}.tar:${NAMES[n % 4]}_${1000 + n * 37}`,
      pictures: { image },
      values: { label: `${n % 4} (${NAMES[n % 4]})` },
    })),
  }
}
