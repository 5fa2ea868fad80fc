export const number = (n: number): string => n.toLocaleString("en");

export const count = (n: number, what: string): string => `${number(n)} ${what}${n === 1 ? "" : "s"}`;

export const tokens = (n: number): string => count(n, "token");

export const dollars = (d: number): string => `$${d < 0.01 ? d.toFixed(4) : d < 100 ? d.toFixed(3) : d.toFixed(0)}`;

export const percent = (part: number, whole: number): string => (whole > 0 ? `${((100 * part) / whole).toFixed(part > 0 && part < whole / 100 ? 1 : 0)}%` : "–");

/** endOfPaths shortens the paths in a line to their last two names, because many of them begin alike. */
export const endOfPaths = (line: string): string => line.replace(/(?:[^\s/"'=…]*\/){3,}(?=[^\s/"']+\/[^\s/"']+)/g, "…/");
