export function packPage(entry: string): { readonly text: string };
