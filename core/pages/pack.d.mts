export function packPage(
  entry: string,
  isModule?: boolean,
): { readonly text: string; readonly chunks: Readonly<Record<string, string>> };
