export function thinMap(text: string): string;
export function thinMappings(mappings: string): string;
