/** Conceals secrets in paths and names, recognised by their form. */

const marks = [
  // API tokens of the gateway itself.
  /spk_[\w-]+/g,
  // JSON Web Tokens.
  /ey[\w-]{8,}\.ey[\w-]{8,}(?:\.[\w-]*)?/g,
  // Tokens of GitHub, GitLab, Slack, Google and AWS.
  /\b(?:gh[opusr]_|github_pat_|glpat-|xox[abeoprs]-|ya29\.|AIza|AKIA|ASIA)[\w.-]{10,}/g,
  // What a word announces.
  /(?<=\b(?:password|passwd|secret|token|api[_-]?key) ?[=:] ?)[^\s&;,]+/gi,
  /(?<=\bbearer )[\w.~+/-]{8,}/gi,
  // User and password in an address.
  /(?<=:\/\/)[^\s/@]+(?=@)/g,
]
const maxLength = 2000
/** How each mark begins, or what it contains; nearly every path has none of these. */
const hint =
  /spk_|ey[\w-]{8}|gh[opusr]_|github_pat_|glpat-|xox[abeoprs]-|ya29\.|AIza|AKIA|ASIA|[=:]|bearer /i

export function concealSecrets(text: string): string {
  let shown = text.slice(0, maxLength)
  if (!hint.test(shown)) return shown
  for (const mark of marks) shown = shown.replaceAll(mark, '***')
  return shown
}
