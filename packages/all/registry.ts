/** The one place that knows every format and kind of field, the table of operators, and what explains runs. Each thread and process of ours imports it before it works. */
import { addNames } from '../core/basics/mistakes.js'
import { addFormats, addKind } from '../core/define/format.js'
import { addDecoders } from '../core/define/kind.js'
import { addOperators, type OperatorFacts } from '../core/define/operator.js'
import { addTokenizers } from '../core/define/tokenizer.js'
import { useObserver } from '../core/deliver/observer.js'
import { addOwnFormats } from '../core/source/own-formats.js'
import { useCudaKernels, useRegistry } from '../core/system/node/registry.js'
import { arrowFormat } from '../formats/arrow/format.js'
import { filesFormat, folderFormat } from '../formats/files/format.js'
import { hdf5Format, netcdf4Format } from '../formats/hdf5/format.js'
import { csvFormat, jsonlFormat, textFormat } from '../formats/lines/format.js'
import { litdataFormat } from '../formats/litdata/format.js'
import { mdsFormat } from '../formats/mds/format.js'
import { npyFormat } from '../formats/npy/format.js'
import { npzFormat } from '../formats/npz/format.js'
import { parquetFormat } from '../formats/parquet/format.js'
import { safetensorsFormat } from '../formats/safetensors/format.js'
import { tarFormat } from '../formats/tar/format.js'
import { tfrecordFormat } from '../formats/tfrecord/format.js'
import { zarrFormat } from '../formats/zarr/format.js'
import { chatFormat } from '../llm/conversations/format.js'
import { tokensFormat } from '../llm/tokens/format.js'
import { DECODERS } from '../pixels/kinds/registry.js'
import { namesElsewhere, OPERATORS } from '../pixels/operators/registry.js'

useRegistry(new URL('./registry.js', import.meta.url))
useCudaKernels(new URL('../pixels/transform/kernels/cuda', import.meta.url))
addOwnFormats()
// Where a folder holds files of several formats, the first of these is taken.
addFormats(tarFormat, folderFormat, filesFormat)
addFormats(arrowFormat, parquetFormat, tfrecordFormat, jsonlFormat, npzFormat, npyFormat, safetensorsFormat)
addFormats(hdf5Format, netcdf4Format, zarrFormat, csvFormat, textFormat, mdsFormat, litdataFormat)
addFormats(tokensFormat, chatFormat)
addKind('pathed', async () => (await import('../formats/pathed/pathed.js')).pathed)
addDecoders(...DECODERS)
addTokenizers(async () => (await import('../llm/tokenize/open.js')).tokenizers)
addOperators(OPERATORS as unknown as Record<string, OperatorFacts>)
addNames(namesElsewhere())
useObserver(async () => (await import('../observe/observer.js')).observer)
