import { termsOf } from "./search_terms.ts";

/** Words that people and tools use for the same thing, a group per line. */
const GROUPS = `
  get fetch retrieve obtain query read lookup access
  create make generate build produce add new
  write save store
  delete remove drop clear
  search find discover lookup explore
  convert transform translate
  update edit modify change
  list show display view enumerate
  ppt powerpoint presentation slide slideshow deck
  doc docx word
  xlsx excel spreadsheet workbook
  picture image photo png jpg
  directory folder
  website site webpage web page url
  wiki wikipedia
  browser browse navigate
  stock ticker equity share
  paper article publication
  place location
  trend trending hot popular rank
  chart plot graph
  news headline`;

const related = new Map<string, Set<string>>();
for (const group of GROUPS.trim().split("\n")) {
  const terms = termsOf(group);
  for (const term of terms) {
    const others = related.getOrInsertComputed(term, () => new Set());
    for (const other of terms) others.add(other);
  }
}

/** Returns the terms that mean the same as those of a query, without these. */
export function relatedTerms(query: string): readonly string[] {
  const own = new Set(termsOf(query));
  const found = new Set<string>();
  for (const term of own) {
    for (const other of related.get(term) ?? []) {
      if (!own.has(other)) found.add(other);
    }
  }
  return [...found];
}
