export function thinMap(text: string): string;
export function thinMappings(mappings: string, indexes?: readonly (number | undefined)[]): string;
