import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.rdfhdt.hdt.hdt.HDT;
import org.rdfhdt.hdt.hdt.HDTManager;
import org.rdfhdt.hdt.triples.IteratorTripleString;
import org.rdfhdt.hdt.triples.TripleString;

/** Writes the terms of all statements of an HDT file, each before a NUL. */
public class ReadHdt {
  public static void main(String[] arguments) throws Exception {
    try (HDT hdt = HDTManager.mapIndexedHDT(arguments[0])) {
      OutputStream out = new BufferedOutputStream(System.out);
      IteratorTripleString statements = hdt.search("", "", "");
      while (statements.hasNext()) {
        TripleString statement = statements.next();
        for (CharSequence term :
            new CharSequence[] {
              statement.getSubject(), statement.getPredicate(), statement.getObject()
            }) {
          out.write(term.toString().getBytes(StandardCharsets.UTF_8));
          out.write(0);
        }
        // The file's index leads to the statement from its object, too.
        IteratorTripleString found = hdt.search("", "", statement.getObject());
        if (!found.hasNext()) {
          throw new IllegalStateException("not found: " + statement);
        }
      }
      out.flush();
    }
  }
}
