export function packPage(): { readonly text: string };
