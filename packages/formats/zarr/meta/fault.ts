/** What is wrong with the metadata of an array. The reader of the metadata adds the file. */
export class ZarrFault extends Error {}
