// Reads documents with Jena, many in one process, and writes each as N-Quads.
// Standard input has a line for each: file, media type, base, target; by tabs.
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFLanguages;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.riot.system.ErrorHandlerFactory;
import org.apache.jena.riot.system.StreamRDF;
import org.apache.jena.riot.system.StreamRDFWriter;

public class Riot {
    public static void main(String[] none) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split("\t");
            Lang lang = RDFLanguages.contentTypeToLang(words[1]);
            if (lang == null) continue;
            try (FileOutputStream out = new FileOutputStream(words[3])) {
                StreamRDF writer = StreamRDFWriter.getWriterStream(out, Lang.NQUADS);
                writer.start();
                try {
                    RDFParser.source(words[0]).forceLang(lang).base(words[2])
                        .errorHandler(ErrorHandlerFactory.errorHandlerExceptionOnError())
                        .parse(writer);
                } catch (RuntimeException | StackOverflowError error) {
                    // The statements before the error are kept.
                }
                writer.finish();
            }
        }
    }
}
