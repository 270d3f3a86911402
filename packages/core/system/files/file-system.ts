/** Which file system a path is on. */
import { statfsSync } from 'node:fs'

/** Kinds by the magic numbers of statfs(2); `far`: bytes come over a network. */
const KINDS: Record<number, { name: string; far?: true }> = {
  61267: { name: 'ext4' },
  1481003842: { name: 'xfs' },
  2435016766: { name: 'btrfs' },
  801189825: { name: 'zfs' },
  4076150800: { name: 'f2fs' },
  16914836: { name: 'tmpfs' },
  2240043254: { name: 'ramfs' },
  2035054128: { name: 'overlay' },
  1936814952: { name: 'squashfs' },
  26985: { name: 'nfs', far: true },
  1702057286: { name: 'fuse' },
  4283649346: { name: 'cifs', far: true },
  4266872130: { name: 'smb', far: true },
  198183888: { name: 'lustre', far: true },
  1196443219: { name: 'gpfs', far: true },
  428016422: { name: 'beegfs', far: true },
  12805120: { name: 'ceph', far: true },
  16914839: { name: '9p' },
}

export interface FileSystem {
  /** `ext4`; its number, in hex, where it is not known. */
  name: string
  far: boolean
}

export function fileSystem(path: string): FileSystem {
  const type = statfsSync(path).type >>> 0
  const { name, far = false } = KINDS[type] ?? { name: `0x${type.toString(16)}` }
  return { name, far }
}
