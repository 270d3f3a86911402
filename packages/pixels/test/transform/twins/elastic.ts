/** The grid of an elastic step, plainly: pixel by pixel, by the function that boxes and points use. */
import { displacementAt, type ElasticStep, places } from '../../../operators/elastic/step.js'

/** Where the pixel (x, y) is fetched from, from -1 to 1 along both axes. */
export function elasticGrid(
  step: Pick<ElasticStep, 'seed' | 'alpha' | 'sigma'>,
  size: { width: number; height: number },
): (x: number, y: number) => [number, number] {
  const [shiftX, shiftY] = [displacementAt(step, 'x', size), displacementAt(step, 'y', size)]
  const [gridX, gridY] = [places(size.width), places(size.height)]
  return (x, y) => [Math.fround(gridX[x] + shiftX(x, y)), Math.fround(gridY[y] + shiftY(x, y))]
}
