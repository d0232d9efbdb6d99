import React, { useState } from 'react';
import { IRecordingRow } from '../api';
import { useDoctor } from '../context';
import { causesOf, IFilter, matches, NO_FILTER, notebooksOf } from '../history';
import { CaseRow } from './CaseRow';
import { HistoryFilter } from './HistoryFilter';
import { Section } from './Section';
import { Storage } from './Storage';

const FEW = 8;

/** Lists the other cases; a click shows one. On request they are searched, filtered and deleted. */
export function History(props: { shown: string | null }): JSX.Element | null {
  const { trans, model, archive } = useDoctor();
  const [all, setAll] = useState(false);
  const [filter, setFilter] = useState<IFilter | null>(null);
  const { cases } = model;
  const others = cases.filter(row => row.recording !== props.shown);
  if (filter === null && others.length === 0) {
    return null;
  }
  // The one that is shown is found, too.
  const found = filter ? cases.filter(row => matches(filter, row)) : others;
  const rows = all ? found : found.slice(0, FEW);
  const isFiltered = filter !== null && found.length < cases.length;
  const remove = async (which: readonly IRecordingRow[]) => {
    if (await archive.remove(which)) {
      await model.refresh();
    }
  };
  const title = () => {
    if (filter) {
      return trans.__('History');
    }
    if (cases[0].recording === props.shown) {
      return trans.__('Earlier');
    }
    return others.every(row => row.state === 'died')
      ? trans.__('Other deaths')
      : trans.__('Other events');
  };
  return (
    <Section
      title={title()}
      aside={
        <button
          type="button"
          className="jp-KernelDoctor-link"
          aria-expanded={filter !== null}
          onClick={() => setFilter(filter ? null : NO_FILTER)}
        >
          {filter ? trans.__('Close') : trans.__('Search or delete')}
        </button>
      }
    >
      {filter && (
        <HistoryFilter
          filter={filter}
          change={setFilter}
          notebooks={notebooksOf(cases)}
          causes={causesOf(cases)}
        />
      )}
      {filter && found.length === 0 && (
        <p className="jp-KernelDoctor-quiet">
          {trans.__('None is like that.')}
        </p>
      )}
      <ul className="jp-KernelDoctor-cases">
        {rows.map(row => (
          <CaseRow
            key={row.recording}
            row={row}
            remove={filter && (() => void remove([row]))}
          />
        ))}
      </ul>
      {rows.length < found.length && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => setAll(true)}
        >
          {trans.__('Show all %1', found.length)}
        </button>
      )}
      {filter && (
        <Storage
          found={isFiltered ? found.length : null}
          remove={() => void remove(isFiltered ? found : model.rows)}
        />
      )}
    </Section>
  );
}
