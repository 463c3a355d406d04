/** LDAP filters with `{0}` and `{1}`, parsed before values are inserted. */
import {
  AndFilter,
  ApproximateFilter,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  FilterParser,
  GreaterThanEqualsFilter,
  LessThanEqualsFilter,
  NotFilter,
  OrFilter,
  SubstringFilter,
} from 'ldapts'

/** Active Directory follows groups within groups itself when it is asked with this rule, LDAP_MATCHING_RULE_IN_CHAIN. */
const inChain = '1.2.840.113556.1.4.1941'

/** @throws {Error} when the text is no filter */
export function parseFilterTemplate(text: string): Filter {
  return FilterParser.parseString(withPlainLetters(text.trim()))
}

export function fillFilter(filter: Filter, values: readonly string[]): Filter {
  return mapTexts(filter, (text) =>
    text.replace(/\{([01])\}/g, (place, index) => values[Number(index)] ?? place),
  )
}

/** The same question, asked along the chain of groups: each comparison with `{0}` takes the rule of Active Directory. */
export function askInChain(filter: Filter): Filter {
  if (filter instanceof AndFilter) return new AndFilter({ filters: filter.filters.map(askInChain) })
  if (filter instanceof OrFilter) return new OrFilter({ filters: filter.filters.map(askInChain) })
  if (filter instanceof EqualityFilter && filter.value === '{0}') {
    return new ExtensibleFilter({ matchType: filter.attribute, rule: inChain, value: filter.value })
  }
  return filter
}

function mapTexts(filter: Filter, change: (text: string) => string): Filter {
  if (filter instanceof AndFilter)
    return new AndFilter({ filters: filter.filters.map((part) => mapTexts(part, change)) })
  if (filter instanceof OrFilter)
    return new OrFilter({ filters: filter.filters.map((part) => mapTexts(part, change)) })
  if (filter instanceof NotFilter) return new NotFilter({ filter: mapTexts(filter.filter, change) })
  if (filter instanceof SubstringFilter) {
    const { attribute, initial, any, final } = filter
    return new SubstringFilter({
      attribute,
      initial: change(initial),
      any: any.map(change),
      final: change(final),
    })
  }
  if (filter instanceof ExtensibleFilter) {
    const { matchType, rule, dnAttributes, value } = filter
    return new ExtensibleFilter({ matchType, rule, dnAttributes, value: change(value) })
  }
  if (filter instanceof EqualityFilter && typeof filter.value === 'string') {
    return new EqualityFilter({ attribute: filter.attribute, value: change(filter.value) })
  }
  return mapComparison(filter, change)
}

function mapComparison(filter: Filter, change: (text: string) => string): Filter {
  for (const Comparison of [ApproximateFilter, GreaterThanEqualsFilter, LessThanEqualsFilter]) {
    if (filter instanceof Comparison)
      return new Comparison({ attribute: filter.attribute, value: change(filter.value) })
  }
  return filter
}

/** The parser takes `\c3\bc` for two letters; written as the letter that the bytes mean, it understands. */
function withPlainLetters(text: string): string {
  return text.replace(/(?:\\[89a-f][0-9a-f])+/gi, (run) =>
    Buffer.from(run.replaceAll('\\', ''), 'hex').toString('utf8'),
  )
}
