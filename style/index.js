import './base.css';
import './code.css';
import './live.css';
import './notebook.css';
