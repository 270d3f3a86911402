export function generatedFiles(
  root: string,
  importModule: (file: string) => Promise<unknown>,
): Promise<Record<string, string>>
