/** Opening a device for a loader. */
import type { NormalFeed } from '../define/types.js'
import { cacheFolder } from '../source/index-place.js'
import { Device, stageThread } from './device.js'
import type { DeviceOpened } from './device-messages.js'
import type { DeviceChoice } from './device-options.js'

export interface OpenDevice {
  device: Device
  told: DeviceOpened
}

/** Starts the stage's thread and opens the device there; rejects with one sentence where there is none. */
export async function openDevice({
  ordinal,
  decode,
  start = stageThread,
}: DeviceChoice): Promise<OpenDevice> {
  const { device, opened } = await Device.open(start({ ordinal, decode, cache: cacheFolder() }))
  return { device, told: opened }
}

/** Images whose memory `channelsLast` changes: those that would have their channels first. */
export function chwImages(feed: NormalFeed): string[] {
  return feed.fields.filter(isChwImage).map(field => field.name)
}

/** The same feed with the channels of its images last in memory. Its hashes are those of the feed as it was. */
export function withChannelsLast(feed: NormalFeed): NormalFeed {
  const fields = feed.fields.map(field => {
    if (!isChwImage(field)) return field
    const [channels, height, width] = field.layout.shape
    return { ...field, layout: { ...field.layout, layout: 'hwc' as const, shape: [height, width, channels] } }
  })
  return { ...feed, fields }
}

function isChwImage({ as, layout }: NormalFeed['fields'][number]): boolean {
  return as === 'image' && layout.form === 'dense' && layout.layout === 'chw' && layout.shape.length === 3
}
