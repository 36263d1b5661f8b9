"""The commonest given names and surnames in English, German, French and Spanish, without accents and in lower case.

Common knowledge, not copied from a register. Names that are months, places or everyday words as well (April, Virginia, Rose) are
left out: they would make a column of states look like people.
"""

_GIVEN_NAMES = """
    james robert john michael david william richard joseph thomas charles christopher daniel matthew anthony mark donald
    steven paul andrew joshua kenneth kevin brian george timothy ronald edward jason jeffrey ryan jacob gary nicholas eric
    jonathan stephen larry justin scott brandon benjamin samuel gregory alexander frank patrick raymond jack dennis jerry
    tyler aaron jose adam nathan henry douglas zachary peter kyle noah ethan jeremy walter keith roger terry harry sean
    gerald carl arthur lawrence dylan jesse bryan billy joe bruce albert willie gabriel alan juan logan wayne ralph roy
    eugene randy vincent russell louis philip bobby johnny bradley mary patricia jennifer linda elizabeth barbara susan
    jessica sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna michelle carol amanda melissa deborah
    stephanie dorothy rebecca sharon laura cynthia amy kathleen angela shirley brenda emma anna pamela nicole samantha
    katherine christine helen debra rachel carolyn janet maria catherine heather diane olivia julie joyce victoria ruth
    lauren kelly christina joan evelyn judith andrea hannah megan cheryl jacqueline martha teresa gloria sara janice ann
    kathryn abigail sophia frances jean alice judy isabella julia grace amber denise danielle marilyn beverly charlotte
    natalie theresa diana brittany doris kayla alexis lori marie oliver amelia isla poppy freya alfie archie callum gareth
    nigel fiona gemma hazel hans wolfgang klaus juergen dieter manfred uwe guenter guenther gunter horst bernd helmut
    gerhard heinz werner rainer karl heinrich rolf joachim ralf stefan stephan andreas matthias markus torsten thorsten jens
    sven jan tim lukas leon felix jonas maximilian moritz philipp florian tobias sebastian dominik fabian niklas finn luca
    ben elias anton emil oskar johannes jakob friedrich wilhelm otto kurt ernst fritz hermann ulrich volker holger dirk kai
    joerg jorg axel carsten karsten olaf detlef norbert siegfried reinhard hartmut steffen marco marcel rene mario ingo
    heiko ursula renate helga karin monika ingrid gisela erika christa brigitte petra sabine susanne gabriele birgit claudia
    heike martina angelika kerstin silke anja katrin kathrin stefanie melanie tanja lena lea mia hanna leonie johanna frieda
    greta ida clara klara mathilda elisabeth margarete hildegard gertrud irmgard ilse edith elfriede anneliese waltraud
    christel jutta ute cornelia bettina annette antje silvia sylvia simone franziska annika svenja katharina paula luise
    pierre michel philippe alain nicolas christophe laurent frederic sebastien julien olivier stephane pascal thierry gilles
    francois jacques bernard andre claude gerard guy henri yves didier bruno dominique guillaume alexandre antoine maxime
    romain mathieu matthieu benoit jerome cedric fabrice damien arnaud xavier emmanuel hugo lucas theo enzo raphael jules
    leo adrien baptiste clement quentin florent remi sylvain fabien loic yann gaetan thibault tristan etienne nathalie
    isabelle sylvie valerie francoise monique martine sandrine veronique celine corinne aurelie sophie audrey laetitia
    emilie elodie caroline virginie delphine marion pauline camille manon chloe ines jade louise lucie mathilde anais
    juliette margaux jeanne yvonne madeleine suzanne marguerite germaine therese odette colette ginette josiane chantal
    evelyne annick michele helene agnes claire anne cecile benedicte amelie charlene noemie antonio manuel francisco javier
    jesus carlos miguel alejandro rafael pedro pablo angel sergio fernando luis jorge alberto alvaro diego adrian raul ivan
    ruben enrique ramon vicente andres joaquin santiago victor eduardo roberto jaime ignacio marcos salvador ricardo emilio
    julio guillermo tomas agustin oscar martin mateo gonzalo rodrigo gustavo hector arturo esteban ernesto alfonso armando
    cesar cristian carmen ana isabel cristina marta dolores lucia elena pilar josefa raquel mercedes rosario juana beatriz
    encarnacion rosa montserrat irene sonia monica alba susana margarita yolanda eva nuria inmaculada esther concepcion
    natalia luisa veronica noelia sofia valentina daniela gabriela alejandra fernanda guadalupe ximena camila mariana lorena
    rocio amparo consuelo catalina manuela soledad remedios begona alicia esperanza
"""
_SURNAMES = """
    smith johnson williams brown jones davis miller wilson moore taylor anderson thomas jackson harris thompson robinson
    clark lewis walker hall allen wright scott adams baker nelson carter mitchell roberts turner phillips campbell parker
    evans edwards collins stewart morris murphy rogers reed cook morgan cooper peterson bailey kelly howard richardson
    watson brooks bennett hughes foster sanders ross jenkins perry powell patterson butler simmons bryant griffin hayes
    patel khan shah singh ali ahmed hussain begum chen wang li kim lee nguyen wood ward gray james hunt palmer ellis mason
    knight matthews barnes fisher marshall owens graham reynolds sullivan wallace woods cole west jordan hamilton gibson
    mcdonald kennedy wells harvey burke reid shaw murray ford simpson webb chapman lawrence dixon clarke elliott spencer
    harrison lloyd barker mueller muller schmidt schneider fischer weber meyer wagner becker schulz hoffmann schaefer
    schafer koch bauer richter klein wolf schroeder schroder neumann schwarz zimmermann braun krueger kruger hofmann
    hartmann lange schmitt werner krause meier lehmann schmid schulze maier koehler kohler herrmann koenig konig walter
    mayer huber kaiser fuchs peters lang scholz moeller moller weiss jung hahn schubert vogel friedrich keller guenther
    frank berger winkler roth beck lorenz baumann franke albrecht schuster simon ludwig boehm bohm winter kraus martin
    schumacher kraemer vogt stein jaeger otto gross sommer seidel heinrich brandt haas schreiber graf schulte dietrich
    ziegler kuhn kuehn pohl engel horn busch bergmann voigt sauer arnold wolff pfeiffer yilmaz kaya demir celik sahin nowak
    kowalski popp bernard dubois durand leroy moreau laurent lefebvre michel garcia david bertrand roux fournier morel
    girard andre lefevre mercier dupont lambert bonnet francois martinez legrand garnier faure rousseau blanc guerin henry
    roussel nicolas perrin morin mathieu clement gauthier dumont lopez fontaine chevalier robin masson sanchez gerard boyer
    denis lemaire duval joly gautier roger roche noel lucas meunier marchand dufour petit leclerc barbier renard picard
    caron riviere colin brun aubert arnaud giraud renaud lacroix vidal brunet leroux roy gaillard benoit perrot charpentier
    hubert benali diallo traore haddad cohen levy carpentier menard gonzalez rodriguez fernandez perez gomez jimenez ruiz
    hernandez diaz moreno munoz alvarez romero alonso gutierrez navarro torres dominguez vazquez ramos gil ramirez serrano
    blanco molina morales suarez ortega delgado castro ortiz rubio marin sanz nunez iglesias medina garrido cortes castillo
    santos lozano guerrero cano prieto mendez cruz calvo gallego leon herrera marquez pena flores cabrera campos vega
    fuentes carrasco diez reyes nieto caballero aguilar pascual santana herrero montero lorenzo hidalgo gimenez ibanez
    ferrer duran santiago vicente benitez mora arias vargas carmona crespo roman pastor soto saez velasco moya soler parra
    esteban bravo gallardo rojas silva mendoza
"""
GIVEN_NAMES, SURNAMES = frozenset(_GIVEN_NAMES.split()), frozenset(_SURNAMES.split())
