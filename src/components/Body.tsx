import React from 'react';
import { useDoctor } from '../context';
import { Bar } from './Bar';
import { Earlier } from './Earlier';
import { PostMortem } from './PostMortem';
import { Present } from './Present';
import { Empty, Failed, Loading } from './States';

/** The panel below its frame: a post-mortem, or why there is none to see. */
export function Body(): JSX.Element {
  const { view } = useDoctor().model;
  const report = view.kind === 'report' ? view.report : null;
  return (
    <>
      <Bar notebook={report?.notebook ?? null} />
      <Present report={report} />
      {view.kind === 'loading' && <Loading />}
      {view.kind === 'empty' && <Empty />}
      {view.kind === 'error' && <Failed error={view.error} />}
      {report && <PostMortem key={report.recording} report={report} />}
      {view.kind !== 'loading' && <Earlier shown={report?.recording ?? null} />}
    </>
  );
}
