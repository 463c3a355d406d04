/** For an address that belongs to no screen. */
import { to } from '../address.ts'
import { PageHead } from '../components/page-head.tsx'
import { EmptyState } from '../components/states.tsx'

export function UnknownAddress() {
  return (
    <>
      <PageHead tab="This address belongs to no screen." title="This address belongs to no screen." />
      <EmptyState icon="search" text="Check the address, or search for what you were looking for.">
        <a class="button" href={to.home()}>
          Go to Home
        </a>
      </EmptyState>
    </>
  )
}
