/** Words that say nothing about a tool. */
const stopWords: ReadonlySet<string> = new Set(
  "a an and any are as at be by can do does for from has have how i if in into is it its me my of on or our should so such that the their them then this to up use used using via was we what when where which will with you your"
    .split(" "),
);

const asian =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/**
 * Returns the terms of a text: the parts of names, without case, endings, and words that say nothing. Chinese, Japanese and Korean have
 * no spaces, so their terms are pairs of characters.
 */
export function termsOf(text: string): string[] {
  const parts = text
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .match(/\p{L}[\p{L}\p{M}]*|\d+/gu) ?? [];
  return parts.flatMap((part) =>
    asian.test(part) ? pairsOf(part) : stopWords.has(part) ? [] : [stem(part)]
  );
}

function pairsOf(text: string): readonly string[] {
  const characters = [...text];
  return characters.length < 2
    ? characters
    : characters.slice(1).map((each, index) => `${characters[index]}${each}`);
}

const MIN_STEM = 3;

/** Removes endings of English words, so that forms of a word are one term. */
function stem(word: string): string {
  if (word.length <= MIN_STEM) return word;
  const singular = word
    .replace(/ies$/, "y")
    .replace(/(x|z|ch|sh|ss)es$/, "$1")
    .replace(/([^su])s$/, "$1");
  const root = singular
    .replace(/i[sz]ation$/, "ize")
    .replace(/at(?:ion|or)$/, "at")
    .replace(/([aeiouy].*)(?:ing|ed|ment|ness)$/, "$1");
  const base = root.length < MIN_STEM ? singular : root;
  return base.replace(/([^aeiouls])\1$/, "$1").replace(/e$/, "");
}
